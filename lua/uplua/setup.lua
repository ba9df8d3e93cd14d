-- The name under which scripts ask for what was lost, setup.ledger(): the module is uplua.probe.setup.
return require "uplua.probe.setup"
