package docgen

import (
	"strings"

	"deployer/ci/config"
	"deployer/strictyaml"
)

const ciHead = `# The file deployer.ci.yaml

Generated from the types that read the file; do not edit. The [guide](../guides/ci.md) explains what the keys do.

The file is at the top of a repository with inventories. An unlisted key or a value of another type is an error with its
line. NAME stands for any name; ` + "`[]`" + ` for each item of a list.

`

// CI returns the page of deployer.ci.yaml.
func CI() string {
	var b strings.Builder
	b.WriteString(ciHead)
	writeKeys(&b, strictyaml.Describe(config.Config{}))
	return b.String()
}
