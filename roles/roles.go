// Package roles holds deployer's own playbooks and roles, in the language that
// users get for theirs, and what turns an inventory into the variables that
// they see. The templates of a role are in package templates, in the folder of
// its name.
package roles

import "embed"

// FS is the tree of playbooks and roles.
//
//go:embed playbooks/*.yaml */tasks/*.yaml
var FS embed.FS
