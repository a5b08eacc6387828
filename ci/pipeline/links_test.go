package pipeline

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinksOfARevision attacks the check of links: each link of the map leads from its name to a
// target, next to the files that every checkout has. The bad ones are those that must be found.
func TestLinksOfARevision(t *testing.T) {
	t.Parallel()
	deep := map[string]string{}
	for i := range 300 {
		deep[fmt.Sprintf("l%03d", i)] = fmt.Sprintf("l%03d", i+1)
	}
	deep["l300"] = "vars.yaml"
	for name, c := range map[string]struct {
		links map[string]string
		bad   []string
	}{
		"to a file":                       {map[string]string{"group_vars/all.yaml": "../vars.yaml"}, nil},
		"to a directory":                  {map[string]string{"roles": "shared/roles", "here": ".", "up": "shared/.."}, nil},
		"a chain":                         {map[string]string{"a": "b", "b": "shared/c", "shared/c": "../vars.yaml"}, nil},
		"a chain through a directory":     {map[string]string{"a": "dir/x.yaml", "dir": "shared"}, nil},
		"to nothing":                      {map[string]string{"a": "missing.yaml", "b": "missing/x"}, nil},
		"to a name like git's":            {map[string]string{"a": ".GIT/config", "b": ".gitignore", "c": "shared/.git/config"}, nil},
		"above the checkout":              {map[string]string{"a": "../outside/secret"}, []string{"a"}},
		"above it, to nothing":            {map[string]string{"a": "../outside/missing"}, []string{"a"}},
		"to an absolute path":             {map[string]string{"a": "/dev/zero", "b": "/proc/self/environ", "c": "/missing"}, []string{"a", "b", "c"}},
		"absolute, into the checkout":     {map[string]string{"a": "DIR/vars.yaml"}, []string{"a"}},
		"through another process":         {map[string]string{"a": "/proc/self/cwd/vars.yaml", "b": "/proc/1/root/etc/passwd"}, []string{"a", "b"}},
		"a chain whose end leads out":     {map[string]string{"a": "b", "b": "shared/c", "shared/c": "../../outside/secret"}, []string{"a", "b", "shared/c"}},
		"a directory that leads out":      {map[string]string{"a": "dir/secret", "dir": "../outside"}, []string{"a", "dir"}},
		"out and in again":                {map[string]string{"a": "../revision/vars.yaml"}, []string{"a"}},
		"to the metadata":                 {map[string]string{"a": ".git", "b": ".git/config", "shared/c": "../.git/HEAD"}, []string{"a", "b", "shared/c"}},
		"to the metadata by a chain":      {map[string]string{"a": "b/config", "b": ".git"}, []string{"a", "b"}},
		"to the metadata behind a link":   {map[string]string{"a": "dir/../../.git/config", "dir": "shared/deep"}, []string{"a"}},
		"to the metadata by the top":      {map[string]string{"a": "top/.git/config", "top": "."}, []string{"a"}},
		"a loop":                          {map[string]string{"a": "b", "b": "a", "c": "c"}, []string{"a", "b", "c"}},
		"a loop of directories":           {map[string]string{"a": "a/x"}, []string{"a"}},
		"a chain that is too long":        {deep, []string{"l000"}},
		"a name with the end of a line":   {map[string]string{"a\nb": "../outside/secret"}, []string{"a\nb"}},
		"the configuration of a revision": {map[string]string{"deployer.ci.yaml": "../outside/secret"}, []string{"deployer.ci.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "revision")
			for file, text := range map[string]string{"vars.yaml": "a: b", "shared/x.yaml": "x", "shared/deep/y": "y", "shared/roles/r/tasks/main.yaml": "[]", "group_vars/web.yaml": "{}", ".git/config": "metadata", ".git/HEAD": "x", "../outside/secret": "secret"} {
				path := filepath.Join(dir, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for link, target := range c.links {
				if err := os.Symlink(strings.ReplaceAll(target, "DIR", dir), filepath.Join(dir, link)); err != nil {
					t.Fatal(err)
				}
			}
			err := checkLinks(dir)
			if c.bad == nil {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			for _, link := range c.bad {
				if err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(link, "\n", " ")+": the link leads to ") {
					t.Errorf("%s is not refused: %v", link, err)
				}
			}
			if name == "to the metadata behind a link" && strings.Contains(err.Error(), "dir: the link") {
				t.Errorf("a link within is refused: %v", err)
			}
		})
	}
}
