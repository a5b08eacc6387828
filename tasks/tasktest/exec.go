package tasktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"deployer/engine"
)

func execute(c *exec.Cmd, cmd engine.Command) (engine.CommandResult, error) {
	var stdout, stderr bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(cmd.Stdin), &stdout, &stderr
	c.Dir = cmd.Dir
	c.Env = append(c.Environ(), cmd.Env...)
	err := c.Run()
	res := engine.CommandResult{Stdout: stdout.String(), Stderr: stderr.String()}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		res.Exit = exit.ExitCode()
		return res, nil
	}
	return res, err
}

// Answer is one line of a script.
type Answer struct {
	Exit   int
	Stdout string
	Stderr string
	Err    error
	// Do is called before the answer.
	Do func(cmd engine.Command)
}

// Script answers commands by the longest prefix of their line that it has;
// a command without an answer is an error that names it.
func Script(answers map[string]Answer) func(context.Context, engine.Command) (engine.CommandResult, error) {
	return func(_ context.Context, cmd engine.Command) (engine.CommandResult, error) {
		line := strings.Join(cmd.Argv, " ")
		best, found := "", false
		for prefix := range answers {
			if strings.HasPrefix(line, prefix) && (!found || len(prefix) > len(best)) {
				best, found = prefix, true
			}
		}
		if !found {
			return engine.CommandResult{}, fmt.Errorf("the script has no answer for %q", line)
		}
		a := answers[best]
		if a.Do != nil {
			a.Do(cmd)
		}
		return engine.CommandResult{Exit: a.Exit, Stdout: a.Stdout, Stderr: a.Stderr}, a.Err
	}
}
