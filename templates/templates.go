// Package templates holds the files that the built-in roles render: units,
// configurations, static pod manifests and cluster objects. Each role finds its
// templates in the folder of its name; templates that several roles share are beside
// the folders. All templates are text/template with sprig, and can read the variables
// that docs/reference/variables.md lists.
package templates

import "embed"

// FS holds the templates, one folder a role.
//
//go:embed *.tmpl */*.tmpl
var FS embed.FS
