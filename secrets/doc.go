// Package secrets opens and seals files that are encrypted with age
// (https://age-encryption.org), so that passwords can be kept in a
// repository beside the inventory. The format is that of age: its command line and other
// programs for it read and write the same files.
package secrets
