// Package roles embeds the playbooks and roles of deployer, which are written in the
// same language as user playbooks. The templates of a role are in package templates, in the
// folder of its name; package project computes the variables that roles read.
package roles

import "embed"

// FS is the tree of playbooks and roles.
//
//go:embed playbooks/*.yaml */tasks/*.yaml
var FS embed.FS
