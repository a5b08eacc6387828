package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"deployer/ci/config"
	"deployer/ci/report"
	"deployer/strictyaml"
)

// command runs a command of the user, reads the values that it writes for later
// stages, and keeps its artifacts.
func (r *run) command(ctx context.Context, e strictyaml.Entry[config.Stage], s *report.Stage, j job) error {
	dir, err := os.MkdirTemp(r.State, "stage-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	output := filepath.Join(dir, "output")
	if err := os.WriteFile(output, nil, 0o600); err != nil {
		return err
	}
	j.env = append(j.env, "DEPLOYER_CI_OUTPUT="+output, "DEPLOYER_CI_REVISION="+r.commit, "DEPLOYER_CI_REPORTS="+r.Reports())
	words := e.Value.Command
	if !r.config.Parallel(e.Key) {
		j.out.Flush()
		fmt.Fprint(r.console, r.LogCommands.Allow())
		defer func() { fmt.Fprint(r.console, r.LogCommands.Stop()) }()
	}
	if _, err := r.execute(ctx, j, command{program: Program{words[0], words[0]}, args: words[1:], dir: r.dir}); err != nil {
		return err
	}
	data, err := os.ReadFile(output)
	if err != nil {
		return err
	}
	values, err := parseOutputs(string(data), e.Value.Outputs)
	if err != nil {
		return err
	}
	r.setOutputs(s, values)
	return r.keepArtifacts(s, e.Value.Artifacts)
}

// parseOutputs reads NAME=VALUE lines. Each declared output must be present, and no
// other.
func parseOutputs(text string, declared []string) (map[string]string, error) {
	out := map[string]string{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || !slices.Contains(declared, name) {
			return nil, fmt.Errorf("line %d of $DEPLOYER_CI_OUTPUT: want NAME=VALUE with a name of outputs (%s)", n, strings.Join(declared, ", "))
		}
		out[name] = value
	}
	for _, name := range declared {
		if _, written := out[name]; !written {
			return nil, fmt.Errorf("the command did not write its output %s: echo %[1]s=VALUE >> \"$DEPLOYER_CI_OUTPUT\"", name)
		}
	}
	return out, nil
}

// keepArtifacts copies files of the checkout to the reports. Files that lead out of it, and
// files with a secret, are errors.
func (r *run) keepArtifacts(s *report.Stage, patterns []string) error {
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, pattern := range patterns {
		found, err := fs.Glob(root.FS(), filepath.ToSlash(filepath.Clean(pattern)))
		if err != nil || len(found) == 0 {
			return fmt.Errorf("artifacts: there is no file %s", pattern)
		}
		for _, name := range found {
			data, err := root.ReadFile(name)
			if err != nil {
				return fmt.Errorf("artifacts: %w", err)
			}
			if !bytes.Equal([]byte(r.secrets.Text(string(data))), data) {
				return fmt.Errorf("artifacts: %s contains a secret of %s and is not kept", name, config.File)
			}
			if err := r.keep(s, "artifacts/"+name, data); err != nil {
				return err
			}
		}
	}
	return nil
}
