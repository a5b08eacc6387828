package lang

import (
	"errors"
	"fmt"
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
//
// A call whose result would take more than 64 MiB is an error.
func Functions() template.FuncMap { return dialect.BoundTemplates(functions()) }

func functions() template.FuncMap {
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

// boundBuiltins are the functions of text/template whose result may be much larger than their
// arguments, with the bounds of Functions.
var boundBuiltins = template.FuncMap(dialect.BoundTemplates(map[string]any{"print": fmt.Sprint, "printf": fmt.Sprintf, "println": fmt.Sprintln,
	"html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper}))

// versionCompareExpr is [dialect.VersionCompare] as expressions call it.
func versionCompareExpr(args ...any) (any, error) {
	a, ok := dialect.VersionText(args[0])
	b, good := dialect.VersionText(args[1])
	if !ok || !good {
		return nil, errors.New("versionCompare wants two texts")
	}
	return dialect.VersionCompare(a, b), nil
}
