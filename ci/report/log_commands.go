package report

import "crypto/rand"

// LogCommands switches the commands of a job's log off: GitHub, Gitea and Forgejo take lines such
// as ::add-mask:: for commands, whoever printed them, and hosts and revisions that nobody has
// approved have texts in the output. A nil LogCommands is that of a system without such commands.
type LogCommands struct{ token string }

// Stop returns the line after which lines are no commands, until the line of Allow. It has a new
// token, which nobody can know before.
func (c *LogCommands) Stop() string {
	if c == nil {
		return ""
	}
	c.token = rand.Text()
	return "::stop-commands::" + c.token + "\n"
}

// Allow returns the line after which lines are commands again; empty before Stop.
func (c *LogCommands) Allow() string {
	if c == nil || c.token == "" {
		return ""
	}
	line := "::" + c.token + "::\n"
	c.token = ""
	return line
}
