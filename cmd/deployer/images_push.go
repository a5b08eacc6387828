package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"deployer/images/build"
	"deployer/images/imagetest"
	"deployer/images/publish"
)

// registryFlags are the flags of the verbs that change a registry.
func registryFlags(cmd *cobra.Command, target *publish.Target) {
	cmd.Flags().StringVar(&target.Registry, "registry", "", "registry with an optional path, for example registry.example/mirror (required)")
	cmd.Flags().BoolVar(&target.Insecure, "insecure", false, "allow HTTP without encryption (registries on loopback need no flag)")
}

func requireRegistry(target publish.Target) error {
	if target.Registry == "" {
		return usageError(fmt.Errorf("--registry is missing, for example --registry registry.example/mirror"))
	}
	return nil
}

func newImagesPush(e env) *cobra.Command {
	var flags imageFlags
	var target publish.Target
	cmd := &cobra.Command{
		Use:   "push [IMAGE...]",
		Short: "Push built images to the stage testing of a registry",
		Long: `Push writes each version of an image to a registry with the tag VERSION-testing, one
index for all architectures of --arch, and beside each image its SBOM and the record of
its tests. Repositories have the layout of a mirror. Credentials are those of docker's or
podman's configuration.`,
		RunE: func(cmd *cobra.Command, names []string) error {
			if err := requireRegistry(target); err != nil {
				return err
			}
			built, err := flags.built(names)
			if err != nil {
				return err
			}
			for _, image := range groupPlatforms(built) {
				digest, err := publish.Push(cmd.Context(), target, image)
				if err != nil {
					return err
				}
				fmt.Fprintf(e.stdout, "%s:%s@%s\n", image.Name, publish.Testing.Tag(image.Version), digest)
			}
			return nil
		},
	}
	flags.add(cmd)
	registryFlags(cmd, &target)
	return cmd
}

// groupPlatforms joins the architectures of each version; built is sorted.
func groupPlatforms(built []builtImage) []publish.Image {
	var all []publish.Image
	for _, b := range built {
		if last := len(all) - 1; last < 0 || all[last].Name != b.repository || all[last].Version != b.entry.Version {
			all = append(all, publish.Image{Name: b.repository, Version: b.entry.Version})
		}
		last := &all[len(all)-1]
		last.Platforms = append(last.Platforms, publish.Platform{
			Arch: b.entry.Arch, Archive: b.archive, SBOM: b.archive + build.SBOMSuffix, Record: b.archive + imagetest.RecordSuffix,
		})
	}
	return all
}
