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

// confirmTask returns the prompt of a run with --step, shown before each task. confirmTask
// repeats the question until the answer is valid; the end of the input means no.
func confirmTask(in io.Reader, out io.Writer) func(context.Context, string, []string) schedule.Answer {
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
				return schedule.YesToAll
			}
		}
		return schedule.No
	}
}

// requireYes prompts for a confirmation on a terminal, unless yes is set. Without a
// terminal yes is required. Any answer but yes is an error with exitRefused.
func requireYes(e env, yes bool, question string) error {
	if yes {
		return nil
	}
	if !isTerminal(e.stdin) {
		return &exitError{exitRefused, errors.New("nothing was changed: standard input is not a terminal; confirm with --yes")}
	}
	fmt.Fprintf(e.stdout, "\n%s [y/N] ", question)
	answer, err := bufio.NewReader(e.stdin).ReadString('\n')
	if err != nil || !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
		return &exitError{exitRefused, errors.New("nothing was changed")}
	}
	return nil
}

// requireText prompts on a terminal for a text. Any other answer is an error with
// exitRefused.
func requireText(e env, question, want string) error {
	fmt.Fprintf(e.stdout, "\n%s ", question)
	answer, err := bufio.NewReader(e.stdin).ReadString('\n')
	if err != nil || strings.TrimSpace(answer) != want {
		return &exitError{exitRefused, errors.New("nothing was changed: the answer is not " + want)}
	}
	return nil
}
