package lang

import (
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// Functions returns the functions of template files, which expressions may call, too: those
// of sprig, without the functions that read the environment or the network of the
// controller, and toYaml, fromYaml and toToml.
func Functions() template.FuncMap {
	f := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(f, name)
	}
	f["toYaml"] = toYAML
	f["toToml"] = toTOML
	f["fromYaml"] = fromYAML
	f["fromJson"] = fromJSON // sprig's own ignores errors
	f["toJson"] = toJSON
	f["keys"], f["values"] = orderedKeys, ordered["values"]
	f[versionName] = versionCompare
	return f
}
