// With `sliphook-sdk/testing` loaded, `plugin.run()` only adds the plugin to `started`.

export const testing = { on: false, started: [] };
