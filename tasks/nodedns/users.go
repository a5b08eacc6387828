package nodedns

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"deployer/engine"
	"deployer/tasks/staticpod"
)

// Users finds the running pods of a host that started with the address of a DNS cache as a name server. A pod keeps
// the name servers with which it started.
type Users struct {
	Server   string   `yaml:"server" rule:"address" required:"true" doc:"address of the cache"`
	Manifest string   `yaml:"manifest" rule:"path" required:"true" doc:"path of the cache's manifest; where it does not exist, no pod is looked for"`
	Files    []string `yaml:"files" rule:"path" required:"true" doc:"files of the cache"`
}

var _ engine.Module = (*Users)(nil)

// ReadOnly is true.
func (*Users) ReadOnly() bool { return true }

// Check returns the pods under "pods", as namespace/name. While there are any, "keep" has the names of the cache's files
// by directory.
func (u *Users) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	pods, keep := []any{}, map[string]any{}
	if _, err := os.Stat(sys.Path(u.Manifest)); err == nil {
		found, err := staticpod.PodsWithServer(ctx, sys, u.Server)
		if err != nil {
			return engine.Change{}, fmt.Errorf("looking for pods with the name server %s: %w", u.Server, err)
		}
		for _, pod := range found {
			pods = append(pods, pod)
		}
	}
	if len(pods) > 0 {
		for _, file := range u.Files {
			dir, name := filepath.Dir(file), filepath.Base(file)
			list, _ := keep[dir].([]any)
			keep[dir] = append(list, name)
		}
	}
	return engine.NoChange(engine.Output{"pods": pods, "keep": keep}), nil
}

// Apply is never needed.
func (*Users) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}
