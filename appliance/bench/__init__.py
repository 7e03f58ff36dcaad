"""Suite -> run -> result -> verdict: fio measurements that can be believed."""
