package lang

import (
	"errors"
	"text/template"

	"github.com/Masterminds/sprig/v3"

	"deployer/engine/lang/dialect"
)

// versionName is the function that compares versions in expressions and templates:
// versionCompare(facts.os_version, "12") >= 0.
const versionName = "versionCompare"

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
	f[versionName] = dialect.VersionCompare
	return f
}

// versionCompareExpr is [dialect.VersionCompare] as expressions call it.
func versionCompareExpr(args ...any) (any, error) {
	a, ok := dialect.VersionText(args[0])
	b, good := dialect.VersionText(args[1])
	if !ok || !good {
		return nil, errors.New("versionCompare wants two texts")
	}
	return dialect.VersionCompare(a, b), nil
}
