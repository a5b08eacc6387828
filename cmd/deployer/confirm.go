package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"deployer/engine/schedule"
	"deployer/inventory"
)

// confirm asks before each task of a run with --step. What is no answer is asked
// again; the end of the input is no.
func confirm(in io.Reader, out io.Writer) func(context.Context, string, []string) schedule.Answer {
	lines := bufio.NewScanner(in)
	return func(ctx context.Context, task string, hosts []string) schedule.Answer {
		for ctx.Err() == nil {
			fmt.Fprintf(out, "%q on %s? [y]es, [n]o, [c]ontinue without asking: ", task, inventory.CompressText(hosts))
			if !lines.Scan() {
				fmt.Fprintln(out)
				return schedule.No
			}
			switch strings.ToLower(strings.TrimSpace(lines.Text())) {
			case "y", "yes":
				return schedule.Yes
			case "n", "no":
				return schedule.No
			case "c", "continue":
				return schedule.Rest
			}
		}
		return schedule.No
	}
}

// agreed asks a question on a terminal, unless yes was given, and wants that
// elsewhere. Anything but yes is an error.
func agreed(e env, yes bool, question string) error {
	if yes {
		return nil
	}
	if !isTerminal(e.stdin) {
		return &exitError{exitRefused, errors.New("nothing was changed; to do this, give --yes")}
	}
	fmt.Fprintf(e.stdout, "\n%s [y/N] ", question)
	answer, err := bufio.NewReader(e.stdin).ReadString('\n')
	if err != nil || !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
		return &exitError{exitRefused, errors.New("nothing was changed")}
	}
	return nil
}
