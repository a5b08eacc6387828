package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"deployer/images/publish"
)

func newImagesPromote(e env) *cobra.Command {
	var flags imageFlags
	var target publish.Target
	stage := string(publish.Staging)
	cmd := &cobra.Command{
		Use:   "promote IMAGE...",
		Short: "Promote images to the next stage of a registry when their tests are green",
		Long: `Promote moves the tag of a stage to the digest that the stage before has: from
VERSION-testing to VERSION-staging, and from there to VERSION, which is production. Each
architecture must have a record of passed tests in the registry. The versions are those
that are built in --dir.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			if err := requireRegistry(target); err != nil {
				return err
			}
			built, err := flags.built(names)
			if err != nil {
				return err
			}
			for _, image := range groupPlatforms(built) {
				digest, err := publish.Promote(cmd.Context(), target, image.Name, image.Version, publish.Stage(stage))
				if err != nil {
					return err
				}
				fmt.Fprintf(e.stdout, "%s:%s@%s\n", image.Name, publish.Stage(stage).Tag(image.Version), digest)
			}
			return nil
		},
	}
	flags.add(cmd)
	registryFlags(cmd, &target)
	cmd.Flags().Var(&enumFlag{&stage, publish.Stages()}, "to", "stage to promote to: staging, production")
	return cmd
}
