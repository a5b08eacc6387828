package runs

import (
	"context"
	"slices"

	"deployer/engine/journal"
	"deployer/engine/program"
	"deployer/engine/schedule"
	"deployer/runs/blobs"
	"deployer/runs/target"
)

// Prepare does all work before the first connection: it prompts for variables,
// passwords and passphrases, and downloads artifacts. [Run.Do] calls it, too; a caller
// that draws on the terminal calls it first, so that prompts come before the drawing.
func (r *Run) Prepare(ctx context.Context) error {
	if r.connector != nil {
		return nil
	}
	if err := r.promptVars(); err != nil {
		return err
	}
	if len(r.Program.Prompts) > 0 {
		r.variables.ResolveHostVars(r.Extra)
	}
	if err := r.promptCredentials(); err != nil {
		return err
	}
	connector, err := target.NewConnector(r.Project, r.credentials, len(r.Hosts))
	if err != nil {
		return err
	}
	if err := r.prepareWith(ctx, connector); err != nil {
		connector.Close()
		return err
	}
	r.connector = connector
	return nil
}

// promptCredentials prompts for passwords, once.
func (r *Run) promptCredentials() (err error) {
	if r.credentials == nil {
		r.credentials, err = target.NewCredentials(r.Project, r.Prompt, r.runner.PromptSecret)
	}
	return err
}

func (r *Run) prepareWith(ctx context.Context, connector *target.Connector) error {
	if err := connector.UnlockKeys(r.Hosts); err != nil {
		return err
	}
	if r.fetches {
		if err := r.Project.Fetch(ctx, r.runner.OnFetch); err != nil {
			return err
		}
	}
	if r.Project.Cluster != nil {
		r.variables.SetImageDigests(r.Project.ImageDigests())
		r.variables.SetAddonImages(r.Project.AddonImages())
		r.variables.SetConformanceImages(r.Project.ConformanceImages(), r.Project.MissingImages)
	}
	var err error
	if r.blobs, err = blobs.New(r.Project); err != nil {
		return err
	}
	secrets, err := r.secrets()
	r.redactor = schedule.NewRedactor(secrets)
	return err
}

// secrets returns the texts that no output may contain: secrets of the inventory and of
// vars_files, passwords, and variables of the command line whose names look like
// secrets.
func (r *Run) secrets() ([]string, error) {
	secrets := slices.Concat(r.Project.Inventory.Secrets(), r.Program.Secrets)
	passwords, err := r.credentials.Secrets()
	if err != nil {
		return nil, err
	}
	secrets = append(secrets, passwords...)
	private := r.privateNames()
	for name, value := range r.Extra {
		if text, ok := value.(string); ok && (journal.LooksSecret(name) || slices.Contains(private, name)) {
			secrets = append(secrets, text)
		}
	}
	return secrets, nil
}

// clone returns another run of the same project on the same hosts, which does not
// prompt again.
func (r *Run) clone(program *program.Program) *Run {
	out := *r
	out.Program = program
	out.connector, out.blobs, out.redactor = nil, nil, nil
	out.id, out.hasLog = "", false
	return &out
}

// ShareCredentials gives r the passwords of another run of the same inventory, so that
// Prepare does not prompt for them again.
func (r *Run) ShareCredentials(other *Run) { r.credentials = other.credentials }
