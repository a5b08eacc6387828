package content

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/engine"
	"deployer/tasks/file"
	"deployer/tasks/hostcmd"
)

// YAMLFile writes a value as a YAML file, keys sorted.
type YAMLFile struct {
	Dest     string        `yaml:"dest" rule:"path" required:"true" doc:"absolute path on the host"`
	Value    any           `yaml:"value" required:"true" doc:"content of the file: a map or list"`
	Header   string        `yaml:"header" rule:"text" doc:"comment at the top of the file, without the #; default none"`
	Mode     string        `yaml:"mode" rule:"mode" doc:"octal mode; default: that of the existing file, \"0644\" for a new one"`
	Owner    string        `yaml:"owner" rule:"owner" doc:"user name or number; default: that of the existing file"`
	Group    string        `yaml:"group" rule:"owner" doc:"group name or number; default: that of the existing file"`
	Secret   bool          `yaml:"secret" doc:"hide the content and its diff in all output; default false"`
	Follow   bool          `yaml:"follow" doc:"write through a symbolic link at dest; default false"`
	Force    *bool         `yaml:"force" doc:"replace the content of a file that exists; default true"`
	Backup   bool          `yaml:"backup" doc:"copy the replaced file to PATH.RUN~; the output field backup_file names the copy. Default false"`
	Validate hostcmd.Words `yaml:"validate" rule:"text" doc:"command that must succeed before the file is replaced, as a text or a list; %s is the path of the new content"`
}

// Prepare marshals the value. The same value always gives the same bytes.
func (y *YAMLFile) Prepare(_ context.Context, c engine.PrepareContext) (string, engine.Module, error) {
	var out bytes.Buffer
	if y.Header != "" {
		for line := range strings.Lines(strings.TrimRight(y.Header, "\n")) {
			out.WriteString(strings.TrimRight("# "+line, " \n") + "\n")
		}
	}
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(y.Value); err != nil {
		return "", nil, fmt.Errorf("writing the value of %s as YAML: %w", y.Dest, err)
	}
	if err := enc.Close(); err != nil {
		return "", nil, fmt.Errorf("writing the value of %s as YAML: %w", y.Dest, err)
	}
	return fileWith(c, out.Bytes(), file.File{
		Path: y.Dest, Mode: y.Mode, Owner: y.Owner, Group: y.Group, Secret: y.Secret, Follow: y.Follow,
		Force: y.Force, Backup: y.Backup, Validate: y.Validate,
	})
}
