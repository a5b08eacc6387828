package content

import (
	"context"
	"errors"
	"fmt"

	"deployer/engine"
	"deployer/tasks/file"
)

// Template renders a template file of the role and puts the result on the host.
type Template struct {
	Src      string   `yaml:"src" required:"true" doc:"name of the template in the role's templates directory"`
	Dest     string   `yaml:"dest" required:"true" doc:"absolute path on the host"`
	Mode     string   `yaml:"mode" doc:"octal mode; default: what the file has, \"0644\" for a new one"`
	Owner    string   `yaml:"owner" doc:"user name or number; default: what the file has"`
	Group    string   `yaml:"group" doc:"group name or number; default: what the file has"`
	Secret   bool     `yaml:"secret" doc:"never show the content or a diff of it; default false"`
	Follow   bool     `yaml:"follow" doc:"write through a symbolic link at dest; default false"`
	Validate []string `yaml:"validate" doc:"command that must succeed before the file gets its name; %s stands for the path of the new content"`
}

// Copy puts a file of the role, or the content given, on the host.
type Copy struct {
	Src      string   `yaml:"src" doc:"name of the file in the role's files directory"`
	Content  string   `yaml:"content" doc:"the content itself; instead of src"`
	Dest     string   `yaml:"dest" required:"true" doc:"absolute path on the host"`
	Mode     string   `yaml:"mode" doc:"octal mode; default: what the file has, \"0644\" for a new one"`
	Owner    string   `yaml:"owner" doc:"user name or number; default: what the file has"`
	Group    string   `yaml:"group" doc:"group name or number; default: what the file has"`
	Secret   bool     `yaml:"secret" doc:"never show the content or a diff of it; default false"`
	Follow   bool     `yaml:"follow" doc:"write through a symbolic link at dest; default false"`
	Validate []string `yaml:"validate" doc:"command that must succeed before the file gets its name; %s stands for the path of the new content"`
}

var (
	_ engine.Preparer = (*Template)(nil)
	_ engine.Preparer = (*Copy)(nil)
	_ engine.Preparer = (*YAMLFile)(nil)
)

// Prepare renders the template with the host's variables.
func (t *Template) Prepare(_ context.Context, c engine.Controller) (string, engine.Module, error) {
	content, err := c.Render(t.Src)
	if err != nil {
		return "", nil, fmt.Errorf("rendering template %s: %w", t.Src, err)
	}
	return fileWith(c, content, file.File{
		Path: t.Dest, Mode: t.Mode, Owner: t.Owner, Group: t.Group, Secret: t.Secret, Follow: t.Follow, Validate: t.Validate,
	})
}

// Prepare reads the file.
func (p *Copy) Prepare(_ context.Context, c engine.Controller) (string, engine.Module, error) {
	content := []byte(p.Content)
	if p.Src != "" {
		if p.Content != "" {
			return "", nil, errors.New("src and content exclude each other")
		}
		var err error
		if content, err = c.File(p.Src); err != nil {
			return "", nil, fmt.Errorf("reading file %s: %w", p.Src, err)
		}
	}
	return fileWith(c, content, file.File{
		Path: p.Dest, Mode: p.Mode, Owner: p.Owner, Group: p.Group, Secret: p.Secret, Follow: p.Follow, Validate: p.Validate,
	})
}
