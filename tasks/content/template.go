package content

import (
	"context"
	"fmt"

	"deployer/engine"
	"deployer/tasks/file"
	"deployer/tasks/hostcmd"
)

// Template renders a template file of the role and writes the result on the host.
type Template struct {
	Src      string        `yaml:"src" rule:"line" required:"true" template:"true" doc:"name of the template in the role's templates directory"`
	Dest     string        `yaml:"dest" rule:"path" required:"true" doc:"absolute path on the host"`
	Mode     string        `yaml:"mode" rule:"mode" doc:"octal mode; default: that of the existing file, \"0644\" for a new one"`
	Owner    string        `yaml:"owner" rule:"owner" doc:"user name or number; default: that of the existing file"`
	Group    string        `yaml:"group" rule:"owner" doc:"group name or number; default: that of the existing file"`
	Secret   bool          `yaml:"secret" doc:"hide the content and its diff in all output; default false"`
	Follow   bool          `yaml:"follow" doc:"write through a symbolic link at dest; default false"`
	Force    *bool         `yaml:"force" doc:"replace the content of a file that exists; default true"`
	Backup   bool          `yaml:"backup" doc:"copy the replaced file to PATH.RUN~; the output field backup_file names the copy. Default false"`
	Validate hostcmd.Words `yaml:"validate" rule:"text" doc:"command that must succeed before the file is replaced, as a text or a list; %s is the path of the new content"`
}

var (
	_ engine.Preparer = (*Template)(nil)
	_ engine.Preparer = (*Copy)(nil)
	_ engine.Preparer = (*YAMLFile)(nil)
)

// Prepare renders the template with the host's variables.
func (t *Template) Prepare(_ context.Context, c engine.PrepareContext) (string, engine.Module, error) {
	content, err := c.Render(t.Src)
	if err != nil {
		return "", nil, fmt.Errorf("rendering template %s: %w", t.Src, err)
	}
	return fileWith(c, content, file.File{
		Path: t.Dest, Mode: t.Mode, Owner: t.Owner, Group: t.Group, Secret: t.Secret, Follow: t.Follow,
		Force: t.Force, Backup: t.Backup, Validate: t.Validate,
	})
}
