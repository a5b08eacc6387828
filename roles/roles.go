// Package roles embeds the playbooks and roles of deployer, which are written in the
// same language as user playbooks, and computes their variables from an inventory. The
// templates of a role are in package templates, in the folder of its name.
package roles

import "embed"

// FS is the tree of playbooks and roles.
//
//go:embed playbooks/*.yaml */tasks/*.yaml
var FS embed.FS
