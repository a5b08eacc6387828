package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"deployer/images/publish"
	"deployer/project"
	"deployer/tasks/control/report"
)

func newImagesPromote(e env) *cobra.Command {
	var flags imageFlags
	var target publish.Target
	var o runOptions
	var withoutVerify bool
	stage := string(publish.Staging)
	cmd := &cobra.Command{
		Use:   "promote IMAGE...",
		Short: "Promote images to the next stage of a registry when tests and verify are green",
		Long: `Promote moves the tag of a stage to the digest that the stage before has: from
VERSION-testing to VERSION-staging, and from there to VERSION, which is production. Each
architecture must have a record of passed tests in the registry; the latest record of a
digest decides. Promote takes the versions of the images in --dir.

An image goes to production when it is verified in a cluster: the inventory of -i must
use exactly the digests of the image, its cluster must have no difference from it, and
deployer verify must pass there, now. An image that no cluster uses, such as debug, goes
there with --without-verify.`,
		Example: `  deployer images promote coredns --registry registry.example/mirror
  deployer images promote coredns --registry registry.example/mirror --to production -i staging.yaml`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			if err := requireRegistry(target); err != nil {
				return err
			}
			built, err := flags.built(names)
			if err != nil {
				return err
			}
			var v *imageVerifier
			if publish.Stage(stage) == publish.Production && !withoutVerify {
				v = &imageVerifier{env: e, o: o}
			}
			for _, image := range groupPlatforms(built) {
				var verify func(map[string]string) error
				if v != nil {
					verify = func(digests map[string]string) error { return v.verify(cmd.Context(), image, digests) }
				}
				digest, err := publish.Promote(cmd.Context(), target, image.Name, image.Version, publish.Stage(stage), verify)
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
	inventoryFlag(cmd, &o.Inventory)
	promptFlags(cmd, &o.Prompt)
	cmd.Flags().Var(&enumFlag{&stage, publish.Stages()}, "to", "stage to promote to: staging, production")
	cmd.Flags().BoolVar(&withoutVerify, "without-verify", false, "promote to production although the image is not verified in a cluster")
	return cmd
}

// imageVerifier checks on the cluster of an inventory whether it proves images.
type imageVerifier struct {
	env
	o       runOptions
	project *project.Project // nil until the cluster has been checked
}

// verify returns an error unless the cluster uses the image with these digests, has
// no difference from its inventory, and passes verify. The cluster is checked once.
func (v *imageVerifier) verify(ctx context.Context, image publish.Image, digests map[string]string) error {
	p, err := loadCluster(v.o.Inventory)
	if err != nil {
		return err
	}
	used := p.ImageManifests(image.Name, image.Version)
	if used == nil {
		return fmt.Errorf("the cluster of %s does not use %s:%s: name with -i the inventory of a cluster that does, or promote it with --without-verify", v.o.Inventory, image.Name, image.Version)
	}
	for arch, digest := range used {
		if digests[arch] != digest {
			return fmt.Errorf("the cluster of %s has %s for %s, not %s: deploy the image there first", v.o.Inventory, digest, arch, digests[arch])
		}
	}
	if v.project != nil {
		return nil
	}
	check := v.o
	check.Check, check.output = true, "text"
	quiet := v.env
	quiet.stdout = v.stderr
	switch differed, err := reconcile(ctx, newConsole(quiet, check, false), false); {
	case err != nil:
		return err
	case differed:
		return fmt.Errorf("the cluster of %s differs from its inventory: run deployer apply -i %[1]s first", v.o.Inventory)
	}
	o := v.o
	o.output = "text"
	rows, _, err := inspect(ctx, v.env, "verify", o, map[string]any{"verify_outside": ""})
	if err != nil {
		return err
	}
	if bad := report.Problems(rows); len(bad) > 0 {
		return fmt.Errorf("the cluster of %s does not pass verify: %s: %s (%d problems); see deployer verify -i %[1]s", v.o.Inventory, bad[0].Check, bad[0].Detail, len(bad))
	}
	v.project = p
	return nil
}
