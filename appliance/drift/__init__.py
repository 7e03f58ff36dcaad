"""Is it still as it was: layout, environment, performance. The deciding parts are pure."""
