// Package change computes the difference between two revisions of a cluster. [Of] makes a
// [Site] from a project, [Between] compares two sites and returns a [Change] (hosts that
// join, leave or change their role, versions, configuration), and [Change.Steps] returns
// the verbs of deployer that carry it out, in order. The rules are pure: no file, no
// network, no clock.
package change
