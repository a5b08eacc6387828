package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"deployer/images/imagefile"
)

func newImagesGraph(e env) *cobra.Command {
	var flags imageFlags
	var format string
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Show the graph of images and their bases",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			set, err := imagefile.Open(flags.images)
			if err != nil {
				return err
			}
			if format == "dot" {
				printImageDOT(e.stdout, set)
				return nil
			}
			printImageTree(e.stdout, set)
			return nil
		},
	}
	flags.addSet(cmd)
	outputFlag(cmd, &format, "tree", "dot")
	return cmd
}

// printImageTree prints each base with the images on top of it, indented.
func printImageTree(w io.Writer, set *imagefile.Set) {
	var below func(base string, depth int)
	below = func(base string, depth int) {
		for _, f := range set.Files() {
			if f.Base == base {
				fmt.Fprintf(w, "%s%s%s\n", strings.Repeat("  ", depth), f.Name, imageContents(f))
				below(f.Name, depth+1)
			}
		}
	}
	printed := map[string]bool{}
	for _, f := range set.Files() {
		if !set.Has(f.Base) && !printed[f.Base] {
			printed[f.Base] = true
			fmt.Fprintln(w, f.Base)
			below(f.Base, 1)
		}
	}
}

// imageContents lists the packages and programs of an image file.
func imageContents(f imagefile.File) string {
	parts := append([]string{}, f.Packages...)
	for _, b := range f.Binaries {
		parts = append(parts, b.From+"/"+b.Program)
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

func printImageDOT(w io.Writer, set *imagefile.Set) {
	fmt.Fprintln(w, "digraph images {")
	for _, f := range set.Files() {
		fmt.Fprintf(w, "  %q -> %q;\n", f.Base, f.Name)
	}
	fmt.Fprintln(w, "}")
}
