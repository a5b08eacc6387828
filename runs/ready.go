package runs

import (
	"context"
	"slices"

	"deployer/engine/journal"
	"deployer/engine/playbook"
	"deployer/engine/schedule"
	"deployer/project"
	"deployer/runs/content"
	"deployer/runs/reach"
)

// Ready makes everything ready that is not a host: it asks for variables and
// passwords, and fetches artifacts. [Run.Do] does it when nobody has; who shows the run calls it
// before the show begins.
func (r *Run) Ready(ctx context.Context) error {
	if r.reach != nil {
		return nil
	}
	if err := r.prompts(); err != nil {
		return err
	}
	if len(r.Program.Prompts) > 0 {
		project.Tell(r.variables, r.Extra)
	}
	if err := r.login(); err != nil {
		return err
	}
	connector, err := reach.New(r.Project, r.logins, len(r.Hosts))
	if err != nil {
		return err
	}
	if err := r.prepare(ctx, connector); err != nil {
		connector.Close()
		return err
	}
	r.reach = connector
	return nil
}

// login asks for passwords, once.
func (r *Run) login() (err error) {
	if r.logins == nil {
		r.logins, err = reach.NewLogins(r.Project, r.Asking, r.controller.Ask)
	}
	return err
}

func (r *Run) prepare(ctx context.Context, connector *reach.Connector) error {
	if err := connector.Unlock(r.Hosts); err != nil {
		return err
	}
	if r.fetches {
		if err := r.Project.Fetch(ctx, r.controller.Fetching); err != nil {
			return err
		}
	}
	if r.Project.Cluster != nil {
		r.variables.SetImageDigests(r.Project.ImageDigests())
	}
	var err error
	if r.content, err = content.New(r.Project); err != nil {
		return err
	}
	secrets, err := r.secrets()
	r.redactor = schedule.NewRedactor(secrets)
	return err
}

// secrets are the texts that reach no output: what the inventory and vars_files
// mark as secret, passwords, and variables of the command line that look like one.
func (r *Run) secrets() ([]string, error) {
	secrets := slices.Concat(r.Project.Inventory.Secrets(), r.Program.Secrets)
	passwords, err := r.logins.Secrets()
	if err != nil {
		return nil, err
	}
	secrets = append(secrets, passwords...)
	private := r.private()
	for name, value := range r.Extra {
		if text, ok := value.(string); ok && (journal.LooksSecret(name) || slices.Contains(private, name)) {
			secrets = append(secrets, text)
		}
	}
	return secrets, nil
}

// like is another run of the same project on the same hosts, for which nobody is
// asked again.
func (r *Run) like(program *playbook.Program) *Run {
	out := *r
	out.Program = program
	out.reach, out.content, out.redactor = nil, nil, nil
	out.id, out.recorded = "", false
	return &out
}
