package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"deployer/cluster"
	"deployer/internal/docgen"
	"deployer/inventory"
	"deployer/project"
)

func newSchemaCommand(e env) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "schema",
		GroupID: "input",
		Short:   "Print the JSON Schema of inventory files",
		Long: `Schema prints the JSON Schema (draft 2020-12) of inventory files, for editors and
external validators; -o markdown prints the reference of their keys. An editor with
the YAML language server reads the schema that the first line names:

  # yaml-language-server: $schema=inventory.schema.json`,
		Example: "  deployer schema > inventory.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if output == "markdown" {
				_, err := fmt.Fprint(e.stdout, docgen.Inventory())
				return err
			}
			text, err := inventory.Schema(cluster.Spec{}, project.ArtifactsSpec{})
			if err != nil {
				return err
			}
			_, err = e.stdout.Write(text)
			return err
		},
	}
	outputFlag(cmd, &output, "json", "markdown")
	return cmd
}
