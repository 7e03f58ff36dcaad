"""A labelled set of fio reports, good and misused, and what the validity rules say of each."""
