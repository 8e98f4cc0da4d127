// Package assembly joins the parts between objects and snapshots: where objects
// come from, their translation, the zones and their files, the state file, and
// the feed that runs them.
//
// It is for programs that serve zones in ways of their own. It knows no flags,
// no config file and no socket: settings are values, checked by New, and their
// errors name a setting like the program's flags, "--ttl".
package assembly
