package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"deployer/images"
	"deployer/images/build"
)

func newImagesOutdated(e env) *cobra.Command {
	var flags imageFlags
	var output string
	cmd := &cobra.Command{
		Use:   "outdated [IMAGE...]",
		Short: "Compare the locked packages of images with what apt offers",
		Long: `Outdated compares the packages in images.lock with apt's lists, which apt-get update
brings up to date, and the bases of registries with the registry.`,
		RunE: func(cmd *cobra.Command, names []string) error {
			all := []build.OutdatedPackage{}
			err := flags.each(func(catalogue *images.Catalogue, options build.Options) error {
				options.Names = names
				some, err := build.Outdated(cmd.Context(), catalogue, options)
				all = append(all, some...)
				return err
			})
			if err != nil {
				return err
			}
			if output == "json" {
				return printJSON(e.stdout, all)
			}
			return printOutdated(e.stdout, all)
		},
	}
	flags.add(cmd)
	outputFlag(cmd, &output, "table", "json")
	return cmd
}

func printOutdated(w io.Writer, all []build.OutdatedPackage) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "every locked package is what apt offers")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "IMAGE\tARCH\tPACKAGE\tSOURCE\tLOCKED\tOFFERED\tIMAGES ON TOP")
	for _, p := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.Image, p.Arch, p.Package, cmp.Or(p.Source, p.Package),
			p.Locked, cmp.Or(p.Offered, "gone"), cmp.Or(strings.Join(p.OnTop, " "), "-"))
	}
	return t.Flush()
}
