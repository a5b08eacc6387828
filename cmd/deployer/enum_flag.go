package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// outputFlag adds -o with the output forms of a verb; the first form is the default.
func outputFlag(cmd *cobra.Command, into *string, forms ...string) {
	cmd.Flags().VarP(&enumFlag{into, forms}, "output", "o", "output form: "+strings.Join(forms, ", "))
	*into = forms[0]
}

// enumFlag is a flag whose value is one of a list of words.
type enumFlag struct {
	value *string
	words []string
}

func (c *enumFlag) String() string { return *c.value }
func (c *enumFlag) Type() string   { return "form" }

func (c *enumFlag) Set(s string) error {
	for _, w := range c.words {
		if s == w {
			*c.value = s
			return nil
		}
	}
	return fmt.Errorf("want one of %s", strings.Join(c.words, ", "))
}
