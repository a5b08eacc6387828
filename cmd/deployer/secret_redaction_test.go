package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"deployer/engine"
	"deployer/engine/view"
	"deployer/test/fleet"
)

// randomSecret returns a secret with characters that encodings escape.
func randomSecret(r *rand.Rand, lines int) string {
	alphabet := []rune(`abcXYZ0189'"\$<>&/+=?% !#*()[]};:|~^@,.-_äß漢🔑` + "`")
	var b strings.Builder
	for line := range lines {
		if line > 0 {
			b.WriteByte('\n')
		}
		b.WriteByte('k')
		for range 14 + r.IntN(20) {
			b.WriteRune(alphabet[r.IntN(len(alphabet))])
		}
		b.WriteByte('z')
	}
	return b.String()
}

// encoded returns the encodings of a secret by name.
func encoded(t *testing.T, secret string) map[string]string {
	t.Helper()
	plain := &bytes.Buffer{}
	enc := json.NewEncoder(plain)
	enc.SetEscapeHTML(false)
	asJSON, err := json.Marshal(secret)
	asYAML, err2 := yaml.Marshal(map[string]string{"key": secret})
	if err := enc.Encode(secret); err != nil {
		t.Fatal(err)
	}
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	out := map[string]string{
		"plain": secret, "shell": "'" + strings.ReplaceAll(secret, "'", `'\''`) + "'", "go": strconv.Quote(secret),
		"json": string(asJSON), "json for people": plain.String(), "yaml": string(asYAML),
		"query": url.QueryEscape(secret), "path": url.PathEscape(secret), "html": html.EscapeString(secret), "hex": hex.EncodeToString([]byte(secret)),
	}
	for i, before := range []string{"", "a:", "bo:"} {
		for name, e := range map[string]*base64.Encoding{"std": base64.StdEncoding, "url": base64.URLEncoding, "raw": base64.RawStdEncoding, "rawurl": base64.RawURLEncoding} {
			out[fmt.Sprintf("base64 %s %d", name, i)] = e.EncodeToString([]byte(before + secret))
		}
	}
	return out
}

// leaks returns the parts of a text that contain a part of a secret in any encoding.
func leaks(text, secret string, forms map[string]string) []string {
	var out []string
	for name, form := range forms {
		for line := range strings.Lines(form) {
			line = strings.TrimSpace(line)
			for i := range len(line) {
				part := 9 // bytes; what is around a secret in its encoding is shorter
				if strings.Contains(line[i:min(i+part, len(line))], `\u`) {
					part = 18 // three characters
				}
				if i+part > len(line) {
					break
				}
				if at := strings.Index(text, line[i:i+part]); at >= 0 {
					out = append(out, fmt.Sprintf("%s of %q: %q", name, secret, text[max(0, at-60):min(len(text), at+60)]))
					break
				}
			}
		}
	}
	return out
}

const leakingBook = `
- hosts: all
  max_fail: {all: 100%}
  tasks:
    - {name: "called {{ pw }}", debug: {msg: "it is {{ pw }} and {{ lines }}"}}
    - {name: all encodings, command: {argv: [cat, "{{ marker }}"]}, register: output}
    - {name: show, debug: {msg: "{{ output.stdout }}"}}
    - {name: as a file, copy: {dest: /pw.conf, content: "{{ output.stdout }}\n"}}
    - {name: as an argument, command: {argv: [echo, "-p{{ pw }}", "{{ lines }}"]}}
    - {name: in the shell, shell: {cmd: "true # {{ pw }}"}, ignore_errors: true}
    - name: cut anywhere
      command: {argv: [sh, -c, "echo $1 >&2; exit 3", "{{ item }}", "{{ pw }}", "{{ lines }}", "{{ pw }}"]}
      ignore_errors: true
      loop: ["PADS"]
    - name: a long last line
      command: {argv: [sh, -c, "printf %0290d 0; cat {{ marker }}; printf %0290d 0; cat $0 | tr -d '\\n'; exit 4", "{{ marker }}"]}
      ignore_errors: true
    - {name: read a secret, command: {argv: [cat, "{{ learned }}"]}, secret: true, register: key}
    - {name: fails with the secret, command: {argv: [sh, -c, "echo {{ item }} $0 >&2; exit 7", "{{ key.stdout }}"]}, secret: true, ignore_errors: true, loop: [a, b]}
    - {name: uses what was read, debug: {msg: "key {{ key.stdout }}"}}
    - {name: reads it in the open, command: {argv: [cat, "{{ learnedforms }}"]}, ignore_errors: true}
    - {name: "fails at {{ pw }}", command: {argv: [sh, -c, "cat $0 >&2; exit 5", "{{ marker }}"]}}
`

// TestSecretsAreRedacted checks that random secrets of the inventory and of secret steps
// are in no output, in no encoding: lines, live terminal, JSON Lines, logs, plans,
// diffs, errors and results of exec.
func TestSecretsAreRedacted(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 3 {
		pw, lines, key := randomSecret(r, 1), randomSecret(r, 3), randomSecret(r, 1)
		var pads []string
		for n := 60; n < 200; n += 7 {
			pads = append(pads, strings.Repeat("x", n))
		}
		s := newTestSite(t, 2, map[string]string{"site.yaml": strings.Replace(leakingBook, "PADS", strings.Join(pads, `", "`), 1)})
		all := map[string]map[string]string{pw: encoded(t, pw), lines: encoded(t, lines), key: encoded(t, key)}
		dir := t.TempDir()
		marker, learned, learnedForms := filepath.Join(dir, "marker"), filepath.Join(dir, "learned"), filepath.Join(dir, "forms")
		text := func(secrets ...string) string {
			var b strings.Builder
			for _, s := range secrets {
				for name, form := range all[s] {
					fmt.Fprintf(&b, "%s is %s and more\n", name, form)
				}
			}
			return b.String()
		}
		s.write(marker, text(pw, lines))
		s.write(learned, key+"\n")
		s.write(learnedForms, text(key))
		s.site = fleet.Site{Vars: map[string]any{"pw": fleet.Secret(pw), "lines": fleet.Secret(lines), "marker": marker, "learned": learned, "learnedforms": learnedForms}}
		s.writeInventory()

		output := map[string]string{}
		note := func(code int, args ...string) string {
			out, complaints := s.deployer(code, args...)
			output[strings.Join(args, " ")] = out + complaints
			return out
		}
		note(exitOK, "plan", "run", "site.yaml", "-o", "plan.json")
		note(exitFailed, "run", "site.yaml", "-vv", "--diff")
		events := note(exitFailed, "run", "site.yaml", "-o", "json")
		output["live"] = liveView(t, events)
		note(exitOK, "exec", "all", "--", "cat "+marker)
		note(exitOK, "exec", "all", "-o", "json", "--", "cat "+marker)
		note(exitOK, "exec", "all", "-m", "debug", "-a", "{msg: '{{ pw }}'}")
		note(exitFailed, "exec", "all", "--", "cat "+marker+" >&2; exit 3")
		for _, run := range s.runs() {
			note(exitOK, "runs", "show", "-v", run.Header.Run)
			note(exitOK, "runs", "show", run.Header.Run, "-o", "json")
		}
		for name, content := range filesBelow(t, "state") {
			output[name] = content
		}
		output["plan.json"] = filesBelow(t, ".")["plan.json"]
		marks := 0
		for where, text := range output {
			if strings.Contains(text, "[secret]") {
				marks++
			}
			for secret, forms := range all {
				for _, leak := range leaks(text, secret, forms) {
					t.Errorf("%s: %s", where, leak)
				}
			}
		}
		if marks < 10 {
			t.Errorf("secrets were taken out of %d of %d outputs only", marks, len(output))
		}
	}
}

// liveView returns the output of the live view for events.
func liveView(t *testing.T, lines string) string {
	t.Helper()
	var out bytes.Buffer
	shown := view.Live(&out, view.Options{Verbose: 2, Diff: true, Hosts: []string{"h1", "h2"}})
	for line := range strings.Lines(lines) {
		var e engine.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		shown.Emit(e)
	}
	shown.Close()
	return out.String()
}

// TestApplyPlanWithSecrets applies a plan with secrets in command lines and secret
// steps; redacted parts are compared as far as the plan has them.
func TestApplyPlanWithSecrets(t *testing.T) {
	s := newTestSite(t, 2, map[string]string{"site.yaml": `
- hosts: all
  tasks:
    - {command: {argv: [echo, "-p{{ pw }}", it's, "` + strings.Repeat("x", 170) + `{{ pw }}"]}}
    - {copy: {dest: "/{{ name }}.conf", content: "{{ pw }}\n"}}
    - {command: {argv: [echo, secret]}, secret: true}
`})
	s.site = fleet.Site{Vars: map[string]any{"pw": fleet.Secret("hunter2'hunter2"), "name": fleet.Secret("private-name")}}
	s.writeInventory()
	s.write("plan.json", "an old one that others can read")
	s.deployer(exitOK, "plan", "run", "site.yaml", "-o", "plan.json")
	if info, err := os.Stat("plan.json"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the plan has the mode %v, %v", info.Mode(), err)
	}
	s.deployer(exitOK, "apply", "plan.json")
	if got := s.hostFile(0, "private-name.conf"); got != "hunter2'hunter2\n" {
		t.Errorf("got %q", got)
	}
}
