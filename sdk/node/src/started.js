// Where a plugin under test ends up: with `sliphook-sdk/testing` loaded, `plugin.run()` serves nobody.

export const testing = { on: false, started: [] };
