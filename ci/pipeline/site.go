package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"deployer/ci/change"
	"deployer/ci/gate"
	"deployer/project"
	"deployer/strictyaml"
)

// site reads the cluster of an inventory and its playbooks; their errors are findings.
func (p *Pipeline) site(dir, file string) (*change.Site, []gate.Finding) {
	if err := p.requireLinks(dir); err != nil {
		return nil, problems(err.Error(), dir, file)
	}
	v := p.variablesOf(dir)
	loaded, err := p.Load(filepath.Join(dir, filepath.FromSlash(file)), p.reading(dir, v))
	if err == nil {
		for _, s := range loaded.Inventory.Secrets() {
			if !v.isPlaceholder(s) {
				p.secrets.Add(s)
			}
		}
		if s := change.Of(loaded); s != nil {
			var found []gate.Finding
			s.Playbooks, found = p.playbooks(dir, file, loaded, v)
			return relative(s, dir), found
		}
		return nil, nil
	}
	return nil, v.advise(problems(err.Error(), dir, file))
}

// reading returns how the checkout in dir is read.
func (p *Pipeline) reading(dir string, v *variables) Reading {
	r := Reading{LookupEnv: v.lookup, IsPlaceholder: v.isPlaceholder}
	if p.Unmerged {
		r.Confined = dir
	}
	return r
}

// playbooks returns the playbooks that the configuration of a checkout has for an inventory.
// Errors in them are findings, and such a playbook has no digest.
func (p *Pipeline) playbooks(dir, file string, loaded *project.Project, v *variables) (out []change.Playbook, findings []gate.Finding) {
	c, err := p.readConfig(dir)
	if err != nil {
		return nil, nil // Open has refused it for the new revision; all playbooks of others differ
	}
	e, _ := c.EnvironmentOf(file)
	for _, named := range e.Value.Playbooks {
		b := change.Playbook{File: path.Clean(named.File), First: named.Order == "before"}
		inputs, err := p.Inputs(filepath.Join(dir, filepath.FromSlash(file)), filepath.Join(dir, filepath.FromSlash(named.File)), p.reading(dir, v))
		switch {
		case err != nil:
			findings = append(findings, v.advise(problems(err.Error(), dir, b.File))...)
		case len(inputs.Prompts) > 0:
			findings = append(findings, gate.Finding{Rule: "validation", Level: gate.Block, Pos: strictyaml.Pos{File: b.File},
				Message: "the playbook asks for " + strings.Join(inputs.Prompts, ", ") + ", and nobody answers in CI",
				Advice:  "set the variable in the inventory, or give it a default under vars_prompt"})
		default:
			for name := range loaded.Digests() {
				delete(inputs.Files, name) // differences of the inventory have their own place
			}
			b.Hosts, b.Digest = inputs.Hosts, digestOfFiles(inputs.Files, dir)
			findings = append(findings, unchecked(inputs, dir, b.File)...)
		}
		out = append(out, b)
	}
	return out, findings
}

// unchecked returns advice for each place of a playbook that cannot be checked before its run.
func unchecked(inputs *project.PlaybookInputs, dir, file string) []gate.Finding {
	found := problems(strings.Join(inputs.Unchecked, "\n"), dir, file)
	for i := range found {
		found[i].Level = gate.Advise // the run evaluates the lookup
	}
	return found
}

// digestOfFiles returns one digest for files, with their paths relative to the checkout.
func digestOfFiles(files map[string]string, dir string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "%s %s\n", files[name], strings.TrimPrefix(name, dir+"/"))
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:])
}

var problemShape = regexp.MustCompile(`^(.+?):(\d+)(?::(\d+))?: (.*)$`)

// problems returns a finding for each line of an error. A line without a place gets the
// inventory as its place.
func problems(text, dir, file string) []gate.Finding {
	var out []gate.Finding
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(strings.TrimSpace(line), dir+"/", "")
		if line == "" {
			continue
		}
		f := gate.Finding{Rule: "validation", Level: gate.Block, Message: line, Pos: strictyaml.Pos{File: file}}
		if strings.Contains(line, project.ErrOutside.Error()) {
			f.Level = gate.Advise // the deploy of the merged revision reads it
		}
		if m := problemShape.FindStringSubmatch(line); m != nil {
			f.Pos.File, f.Message = m[1], m[4]
			f.Pos.Line, _ = strconv.Atoi(m[2])
			f.Pos.Col, _ = strconv.Atoi(m[3])
		}
		out = append(out, f)
	}
	return out
}

// relative makes the places of a site relative to the repository.
func relative(s *change.Site, dir string) *change.Site {
	cut := func(pos *strictyaml.Pos) { pos.File = strings.TrimPrefix(pos.File, dir+"/") }
	cut(&s.Version)
	for i := range s.Settings {
		cut(&s.Settings[i].Pos)
	}
	for i := range s.Hosts {
		cut(&s.Hosts[i].Pos)
		for j := range s.Hosts[i].Settings {
			cut(&s.Hosts[i].Settings[j].Pos)
		}
	}
	return s
}

// exists reports whether a file of a revision exists.
func exists(dir, file string) bool {
	_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(file)))
	return err == nil
}
