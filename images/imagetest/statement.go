package imagetest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"deployer/images/imagefile"
)

// RecordSuffix is the suffix that an image's archive name gets for the record of its
// tests.
const RecordSuffix = ".tests.json"

// Types of in-toto: of the statement, and of its predicate.
const (
	statementType = "https://in-toto.io/Statement/v1"
	PredicateType = "https://in-toto.io/attestation/test-result/v0.1"
)

// The results of the tests of an image.
const (
	Passed = "PASSED"
	Failed = "FAILED"
)

// Statement is an in-toto statement with the results of tests.
type Statement struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     Results   `json:"predicate"`
}

// Subject is an image: its name and its manifest digest.
type Subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// Results are the results of the tests of one image.
type Results struct {
	Result string `json:"result"`
	// Configuration has the digest of the tests as declared.
	Configuration []Subject `json:"configuration"`
	PassedTests   []string  `json:"passedTests,omitempty"`
	FailedTests   []string  `json:"failedTests,omitempty"`
	// TestedOn is the time at which the tests ended; zero in records of former versions. It
	// is an extension of the predicate, which has no time.
	TestedOn time.Time `json:"testedOn,omitzero"`
}

// ErrOtherStatement says that a statement of in-toto is not about tests, such as the
// provenance of an image.
var ErrOtherStatement = errors.New("it is not a result of tests")

// NewStatement returns a statement about an image by its manifest digest, sha256:...., whose
// tests ended at that time.
func NewStatement(name, manifest string, tests []imagefile.Test, passed, failed []string, at time.Time) (Statement, error) {
	declared, err := testsDigest(tests)
	if err != nil {
		return Statement{}, err
	}
	result := Passed
	if len(failed) > 0 || len(passed) == 0 {
		result = Failed
	}
	return Statement{
		Type: statementType, PredicateType: PredicateType,
		Subject: []Subject{{name, map[string]string{"sha256": strings.TrimPrefix(manifest, "sha256:")}}},
		Predicate: Results{
			Result: result, PassedTests: passed, FailedTests: failed, TestedOn: at.UTC(),
			Configuration: []Subject{{"tests", map[string]string{"sha256": declared}}},
		},
	}, nil
}

func testsDigest(tests []imagefile.Test) (string, error) {
	content, err := json.Marshal(tests)
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), err
}

// Parse decodes a statement. The error for a statement of another type wraps
// ErrOtherStatement.
func Parse(content []byte) (Statement, error) {
	var s Statement
	if err := json.Unmarshal(content, &s); err != nil {
		return s, fmt.Errorf("record of tests: %w", err)
	}
	if s.Type != statementType || s.PredicateType != PredicateType {
		return s, fmt.Errorf("record of tests: statement %q with predicate %q: %w", s.Type, s.PredicateType, ErrOtherStatement)
	}
	return s, nil
}

// Green reports whether the statement says that the tests of the image with that
// manifest digest have passed.
func (s Statement) Green(manifest string) bool {
	return s.About(manifest) && s.Predicate.Result == Passed && len(s.Predicate.FailedTests) == 0 && len(s.Predicate.PassedTests) > 0
}

// About reports whether the image with that manifest digest is a subject of the statement.
func (s Statement) About(manifest string) bool {
	for _, subject := range s.Subject {
		if subject.Digest["sha256"] == strings.TrimPrefix(manifest, "sha256:") {
			return true
		}
	}
	return false
}

// Current reports whether the statement is about that manifest digest and these tests.
func (s Statement) Current(manifest string, tests []imagefile.Test) bool {
	declared, err := testsDigest(tests)
	return err == nil && s.About(manifest) && len(s.Predicate.Configuration) == 1 &&
		s.Predicate.Configuration[0].Digest["sha256"] == declared
}

// Write writes the record beside the archive of an image.
func (s Statement) Write(archive string) error {
	content, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	return renameio.WriteFile(archive+RecordSuffix, append(content, '\n'), 0o644)
}

// Read returns the record beside the archive of an image; without one, found is false.
func Read(archive string) (s Statement, found bool, err error) {
	content, err := os.ReadFile(archive + RecordSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err != nil {
		return s, false, err
	}
	s, err = Parse(content)
	return s, err == nil, err
}
