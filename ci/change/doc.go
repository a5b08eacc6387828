// Package change says what a push to a configuration repository means for one cluster.
// [Of] takes from a project what the rules look at, [Between] compares two such sites and
// returns a [Change] (hosts that join, leave or change their role, versions,
// configuration), and [Change.Steps] names the verbs of deployer that carry it out, in
// order. The rules are pure: no file, no network, no clock.
package change
