package compile

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"deployer/engine"
	"deployer/engine/exprarg"
	"deployer/engine/lang"
	"deployer/engine/program"
)

// fileArgs is a host module with arguments of many types.
type fileArgs struct {
	Path     string            `yaml:"path" required:"true"`
	Mode     string            `yaml:"mode" rule:"mode"`
	Lines    []string          `yaml:"lines"`
	Count    int               `yaml:"count"`
	Force    *bool             `yaml:"force"`
	Labels   map[string]string `yaml:"labels"`
	Rules    []rule            `yaml:"rules"`
	Value    any               `yaml:"value"`
	Settings map[string]any    `yaml:"settings"`
	Wait     time.Duration     `yaml:"wait"`
}

type rule struct {
	Port int    `yaml:"port"`
	Name string `yaml:"name"`
}

func (*fileArgs) Check(context.Context, engine.System) (engine.Change, error) {
	return engine.Change{}, nil
}

func (*fileArgs) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}

type planArgs struct {
	From string `yaml:"from"`
}

func (*planArgs) Check(context.Context, engine.ActionContext) (engine.Change, error) {
	return engine.Change{}, nil
}

func (*planArgs) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

type prepArgs struct {
	Src string `yaml:"src" template:"true"`
}

func (p *prepArgs) Prepare(_ context.Context, c engine.PrepareContext) (string, engine.Module, error) {
	text, err := c.Render(p.Src)
	return "file", &fileArgs{Path: string(text)}, err
}

// nestedArgs names a template file in an argument of an argument.
type nestedArgs struct {
	Text string `yaml:"text"`
	From struct {
		Name string `yaml:"name" template:"true"`
	} `yaml:"from"`
}

func (*nestedArgs) Prepare(context.Context, engine.PrepareContext) (string, engine.Module, error) {
	return "file", &fileArgs{}, nil
}

// runArgs is a host module with a short form.
type runArgs struct {
	Dir  string `yaml:"dir"`
	Line string `yaml:"line" short:"true" required:"true"`
}

func (*runArgs) Check(context.Context, engine.System) (engine.Change, error) {
	return engine.Change{}, nil
}

func (*runArgs) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}

// RunsPrograms makes become determine the user of the programs.
func (*runArgs) RunsPrograms() {}

// ownedArgs is a module that writes files with an owner.
type ownedArgs struct {
	fileArgs `yaml:",inline"`
	Owner    string `yaml:"owner"`
}

// setArgs gives variables to later tasks.
type setArgs struct {
	Values map[string]any `yaml:"values" required:"true" short:"true" defines:"true"`
	Old    string         `yaml:"old"`
}

func (*setArgs) Check(context.Context, engine.System) (engine.Change, error) {
	return engine.Change{}, nil
}

func (*setArgs) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}

// claimArgs is a module with arguments that are expressions.
type claimArgs struct {
	That exprarg.Conditions `yaml:"that" short:"true"`
	Of   *exprarg.Value     `yaml:"of"`
}

func (*claimArgs) Check(context.Context, engine.System) (engine.Change, error) {
	return engine.Change{}, nil
}

func (*claimArgs) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}

func registry() engine.Registry {
	return engine.NewRegistry([]engine.Kind{
		{Name: "file", New: func() any { return &fileArgs{Mode: "0644"} }},
		{Name: "plan", New: func() any { return &planArgs{} }},
		{Name: "claim", New: func() any { return &claimArgs{} }},
		{Name: "set", New: func() any { return &setArgs{} }},
		{Name: "owned", New: func() any { return &ownedArgs{} }},
		{Name: "run", New: func() any { return &runArgs{} }},
		{Name: "template", New: func() any { return &prepArgs{} }},
		{Name: "nested", New: func() any { return &nestedArgs{} }},
	})
}

// files returns a file system of pairs of name and text.
func files(pairs ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return out
}

// compileFiles compiles site.yaml of the given files; roles are below roles/.
func compileFiles(t *testing.T, lib *Compiler, pairs ...string) (*program.Program, error) {
	t.Helper()
	tree := files(pairs...)
	if lib == nil {
		lib = &Compiler{}
	}
	lib.Registry = registry()
	roles, err := tree.Sub("roles")
	if err != nil {
		t.Fatal(err)
	}
	lib.Roles = []lang.Tree{{Name: "roles", FS: roles}}
	return lib.Compile(lang.Tree{FS: tree}, "site.yaml")
}

func mustCompile(t *testing.T, pairs ...string) *program.Program {
	t.Helper()
	p, err := compileFiles(t, nil, pairs...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// requireOneError requires a single error that contains want, or no error when want
// is empty.
func requireOneError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Error(err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("error %v, want %s", err, want)
	case err != nil && strings.Contains(err.Error(), "\n"):
		t.Errorf("more than one error: %v", err)
	}
}
