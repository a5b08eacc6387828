package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"deployer/ci/config"
	"deployer/ci/repository"
	"deployer/project"
	"deployer/shellquote"
)

// ciConfigTemplate is the deployer.ci.yaml of ci init.
const ciConfigTemplate = `# Deploys pushes to this repository; see docs/guides/ci.md of deployer.
environments:
  production:
    inventories: [inventory.yaml]
    gates:
      quorum: {level: block}
      blast_radius: {level: advise, limit: 30%}
`

func newCIInit(e env) *cobra.Command {
	var dir string
	var hooks bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write deployer.ci.yaml, or the hooks of a bare repository",
		Long: `Init writes deployer.ci.yaml into the directory of a repository. With --hooks it writes
the hooks pre-receive (deployer ci validate, which refuses pushes) and post-receive
(deployer ci run) instead. It never replaces a file.`,
		Example: `  deployer ci init
  deployer ci init --hooks --repository /srv/git/clusters.git`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !hooks {
				return writeNewFile(e, filepath.Join(dir, config.File), ciConfigTemplate, 0o644)
			}
			repo, err := repository.Open(cmd.Context(), dir)
			if err != nil {
				return project.AsUserError(err)
			}
			program, err := os.Executable()
			if err != nil {
				return err
			}
			for _, h := range []struct{ name, verb string }{{"pre-receive", "validate"}, {"post-receive", "run"}} {
				text := fmt.Sprintf("#!/bin/sh\n# Written by deployer ci init.\nexec %s ci %s --hook\n", shellquote.Word(program), h.verb)
				if err := writeNewFile(e, filepath.Join(repo.Dir, "hooks", h.name), text, 0o755); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "repository", ".", "`directory` of the git repository")
	cmd.Flags().BoolVar(&hooks, "hooks", false, "write the hooks of the repository")
	return cmd
}

// writeNewFile writes a file that does not exist.
func writeNewFile(e env, path, text string, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if errors.Is(err, fs.ErrExist) {
		return usageError(fmt.Errorf("%s exists; remove it first, or edit it", path))
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		fmt.Fprintf(e.stdout, "written: %s\n", path)
	}
	return err
}
