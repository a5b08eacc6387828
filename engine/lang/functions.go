package lang

import (
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// Functions are those that template files may call, and expressions too: sprig's, without the ones that
// read the controller's environment or network, and toYaml, fromYaml and toToml.
func Functions() template.FuncMap {
	f := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(f, name)
	}
	f["toYaml"] = toYAML
	f["toToml"] = toTOML
	f["fromYaml"] = fromYAML
	f["fromJson"] = fromJSON // sprig's swallows errors
	f["toJson"] = toJSON
	f["keys"], f["values"] = orderedKeys, ordered["values"]
	f[versionName] = versionCompare
	return f
}
