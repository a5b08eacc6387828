package pipeline

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/ci/report"
)

// keep writes an artifact of a stage below the directory of reports, with secrets masked.
func (p *Pipeline) keep(s *report.Stage, name string, data []byte) error {
	to := filepath.Join(p.Reports(), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	s.Artifacts = append(s.Artifacts, name)
	return writeAtomically(to, p.secrets.Text(string(data)), 0o600)
}

// The files of a cluster are in a directory with the path of its inventory, so that
// no two inventories share one: a checkout cannot have a file below the path of
// another file.

// keepPlan keeps the plan of a cluster, if there is one.
func (p *Pipeline) keepPlan(s *report.Stage, t *target) error {
	if t.planFile == "" {
		return nil
	}
	data, err := os.ReadFile(t.planFile)
	if err != nil {
		return err
	}
	return p.keep(s, path.Join("plans", t.Inventory, "plan.json"), data)
}

// runShape matches ids of runs. Records of hosts could have others, which become names of files.
var runShape = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]*$`)

// keepRuns keeps the journal and the page of each run of deployer that began on a cluster
// since a time. The files are in no output and no log.
func (p *Pipeline) keepRuns(ctx context.Context, s *report.Stage, t *target, since time.Time, j job) error {
	ctx = context.WithoutCancel(ctx) // also for a run that was interrupted
	j = p.silent(j)
	seen := map[string]bool{}
	for _, commit := range []string{t.To, t.From} { // hosts leave with the inventory of the old revision
		if commit == "" {
			continue
		}
		dir, err := p.checkout(ctx, commit)
		if err != nil {
			return err
		}
		if !exists(dir, t.Inventory) {
			continue
		}
		text, err := p.deployer(ctx, j, dir, t.Inventory, "runs", "list", "--output", "json")
		if err != nil {
			return err
		}
		var runs []struct {
			Run     string    `json:"run"`
			Started time.Time `json:"started"`
		}
		if err := json.Unmarshal([]byte(text), &runs); err != nil {
			return fmt.Errorf("reading the list of runs: %w", err)
		}
		for _, run := range runs {
			if run.Started.Before(since) || seen[run.Run] || !runShape.MatchString(run.Run) {
				continue
			}
			seen[run.Run] = true
			for ending, args := range map[string][]string{".json": {"--output", "json"}, ".html": {"--html=-"}} {
				text, err := p.deployer(ctx, j, dir, t.Inventory, append([]string{"runs", "show", run.Run}, args...)...)
				if err == nil {
					err = p.keep(s, path.Join("runs", t.Inventory, run.Run+ending), []byte(text))
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// kubeconfigs writes the admin kubeconfigs of clusters to files that only this user can read
// and that are removed at the end of the run, and returns their paths as kubectl reads them
// from $KUBECONFIG. The files are in no report, and their credentials are masked.
func (r *run) kubeconfigs(ctx context.Context, targets []*target, j job) (string, error) {
	dir, err := os.MkdirTemp(r.State, "kubeconfig-*")
	if err != nil {
		return "", err
	}
	r.outputsMu.Lock()
	r.temporary = append(r.temporary, dir)
	r.outputsMu.Unlock()
	var paths []string
	for _, t := range targets {
		if t.after == nil {
			continue
		}
		from, err := r.checkout(ctx, t.To)
		if err != nil {
			return "", err
		}
		file := filepath.Join(dir, filepath.FromSlash(listable.Replace(t.Inventory)))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return "", err
		}
		if _, err := r.deployer(ctx, j, from, t.Inventory, "kubeconfig", "--file", file); err != nil {
			return "", err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		r.secrets.Add(credentialsOf(data)...)
		paths = append(paths, file)
	}
	return strings.Join(paths, string(os.PathListSeparator)), nil
}

// listable makes a name fit for a list of paths, whose separator is a colon.
var listable = strings.NewReplacer("%", "%25", ":", "%3A")

// credentialsOf returns the keys, tokens and passwords in a kubeconfig, and the keys also as
// they are without Base64.
func credentialsOf(kubeconfig []byte) (out []string) {
	var config struct {
		Users []struct {
			User struct {
				Key      string `yaml:"client-key-data"`
				Token    string `yaml:"token"`
				Password string `yaml:"password"`
			} `yaml:"user"`
		} `yaml:"users"`
	}
	if yaml.Unmarshal(kubeconfig, &config) != nil {
		return nil // no kubeconfig, so no program can use it as one
	}
	for _, u := range config.Users {
		out = append(out, u.User.Key, u.User.Token, u.User.Password)
		if key, err := base64.StdEncoding.DecodeString(u.User.Key); err == nil {
			out = append(out, string(key))
		}
	}
	return out
}

// temporary are the patterns of directories of one run in the state directory.
var temporary = []string{"kubeconfig-*", "stage-*", "plan-*"}

// removeLeftovers removes directories that a killed run has left. The caller has the lock.
func (p *Pipeline) removeLeftovers() error {
	var errs []error
	for _, pattern := range temporary {
		found, err := fs.Glob(os.DirFS(p.State), pattern)
		errs = append(errs, err)
		for _, name := range found {
			errs = append(errs, os.RemoveAll(filepath.Join(p.State, name)))
		}
	}
	return errors.Join(errs...)
}

// removeTemporary removes the directories that only the stages of this run use.
func (r *run) removeTemporary() error {
	var errs []error
	for _, dir := range r.temporary {
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}
