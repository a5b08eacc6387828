package main

import (
	"github.com/spf13/cobra"

	"deployer/runs/reach"
)

// askFlags are the flags of verbs that reach hosts.
func askFlags(cmd *cobra.Command, a *reach.Asking) {
	cmd.Flags().BoolVarP(&a.Login, "ask-pass", "k", false, "ask for the password to log in with, for hosts that have none in the inventory")
	cmd.Flags().BoolVarP(&a.Become, "ask-become-pass", "K", false, "ask for the password to become root with, likewise")
}

// askWords are these flags as they were typed.
func askWords(a reach.Asking) []string {
	var out []string
	if a.Login {
		out = append(out, "-k")
	}
	if a.Become {
		out = append(out, "-K")
	}
	return out
}
