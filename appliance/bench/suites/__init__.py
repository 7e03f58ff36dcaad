"""The suites, one TOML file each; appliance.bench.suite says what may stand in them."""
