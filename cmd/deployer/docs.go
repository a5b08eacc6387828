package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"deployer/internal/docgen"
)

// page is one generated page of the reference.
type page struct {
	file string
	make func(e env, root string) (string, error)
}

// pages returns all pages that `deployer docs` writes. Some take the descriptions of
// fields from comments in the source tree at root.
func pages() []page {
	return []page{
		{"commands.md", func(e env, _ string) (string, error) { return docgen.Commands(newRoot(e)), nil }},
		{"playbooks.md", func(_ env, root string) (string, error) { return docgen.Playbooks(root) }},
		{"tasks.md", func(env, string) (string, error) { return docgen.Tasks(kinds()), nil }},
		{"exit-codes.md", func(env, string) (string, error) { return docgen.ExitCodes(exitCodes), nil }},
		{"events.md", func(_ env, root string) (string, error) { return docgen.Events(root) }},
		{"variables.md", func(_ env, root string) (string, error) { return docgen.Variables(root) }},
		{"ci.md", func(env, string) (string, error) { return docgen.CI(), nil }},
		{"sizes.md", func(env, string) (string, error) { return docgen.Sizes() }},
		{"inventory.md", func(env, string) (string, error) { return docgen.Inventory(), nil }},
	}
}

func newDocsCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:    "docs DIR",
		Hidden: true,
		Short:  "Generate the reference pages in deployer's source tree",
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			root, err := sourceRoot()
			if err != nil {
				return usageError(err)
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			for _, p := range pages() {
				text, err := p.make(e, root)
				if err != nil {
					return fmt.Errorf("generating %s: %w", p.file, err)
				}
				if err := os.WriteFile(filepath.Join(args[0], p.file), []byte(text), 0o644); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// sourceRoot returns the nearest directory with go.mod at or above the working
// directory.
func sourceRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not in deployer's source tree; the reference needs its comments", start)
		}
	}
}
