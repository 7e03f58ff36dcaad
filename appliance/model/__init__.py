"""The frozen values that flow between the rooms; standard library only.

Follow them to follow the program::

    Disk -> Inventory -> Plan -> Applied          (appliance.storage)
    Suite -> Run -> JobResult -> Finding          (appliance.bench, appliance.history)
    Fact -> FindingRecord                         (appliance.drift, appliance.history)

Sizes are bytes, times are nanoseconds or seconds as the name says.
"""
