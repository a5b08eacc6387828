package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// outputFlag adds -o with the forms that a verb knows; the first is the default.
func outputFlag(cmd *cobra.Command, into *string, forms ...string) {
	cmd.Flags().VarP(&choice{into, forms}, "output", "o", "output form: "+strings.Join(forms, ", "))
	*into = forms[0]
}

// choice is a flag that takes one of several words.
type choice struct {
	value *string
	words []string
}

func (c *choice) String() string { return *c.value }
func (c *choice) Type() string   { return "form" }

func (c *choice) Set(s string) error {
	for _, w := range c.words {
		if s == w {
			*c.value = s
			return nil
		}
	}
	return fmt.Errorf("want one of %s", strings.Join(c.words, ", "))
}
