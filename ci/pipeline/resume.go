package pipeline

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"path/filepath"
	"slices"

	"deployer/ci/change"
	"deployer/ci/repository"
)

// RunVariable is the environment variable with the id of the run that a verb of deployer starts.
const RunVariable = "DEPLOYER_CI_RUN"

// maxRuns is the number of runs of a step that are remembered.
const maxRuns = 10

// exitUsage is the exit code of verbs for a run that does not exist or cannot be resumed.
const exitUsage = 2

var errNoRun = errors.New("no run of the step was found")

// nextRun writes down the id of the next run of a step, before it starts, and returns the job that
// gives it to the verb.
func (p *Pipeline) nextRun(ctx context.Context, t *target, d *repository.Deploying, j job) (job, error) {
	suffix := make([]byte, 4)
	if _, err := rand.Read(suffix); err != nil {
		return j, err
	}
	id := p.Now().UTC().Format("20060102-150405.000") + "-" + hex.EncodeToString(suffix)
	d.Runs = append(slices.Clone(d.Runs), id)
	d.Runs = d.Runs[max(0, len(d.Runs)-maxRuns):]
	j.env = append(slices.Clone(j.env), RunVariable+"="+id)
	return j, p.record(ctx, t, d)
}

// resume resumes a step that was interrupted: the newest of the runs that were written down before
// they started, and only when its record is that of the step. Hosts keep records of runs, and are
// not trusted: --yes confirms what the step says, and nothing else.
//
// A rollback has several runs, of which one is written down; its record must be that of a
// rollback of the upgrade that the state names, and this upgrade one as CI starts them.
func (p *Pipeline) resume(ctx context.Context, t *target, s change.Step, d *repository.Deploying, dir string, j job) error {
	s = withUpgrade(s, d)
	flags := append([]string{"--yes", "--lock-timeout", t.environment.LockTimeout}, stepFlags(s)...)
	if s.Verb() == change.VerbRun && len(s.Args) > 1 {
		flags = append(flags, "--playbook", filepath.Join(dir, filepath.FromSlash(s.Args[1])))
	}
	var tried [][]string
	for _, id := range slices.Backward(d.Runs) {
		tried = append(tried, []string{"resume", id})
	}
	if s.Verb() == change.VerbRollback {
		tried = [][]string{{"resume"}}
	}
	err := errNoRun
	for _, words := range tried {
		var named job
		if named, err = p.nextRun(ctx, t, d, j); err != nil {
			return err
		}
		if _, err = p.deployer(ctx, named, dir, t.Inventory, append(words, flags...)...); exitCodeOf(err) != exitUsage {
			return err
		}
	}
	return err
}

// stepFlags returns the flags that say which step a verb carries out, so that the verb confirms
// nothing that the step does not say.
func stepFlags(s change.Step) []string {
	flags := make([]string, len(s.Args))
	for i, word := range s.Args {
		flags[i] = "--step=" + word
	}
	return flags
}
