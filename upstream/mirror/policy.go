package mirror

import "fmt"

// A Policy says what may be changed, as external-dns' flag of the name does.
type Policy string

// The policies.
const (
	// Sync creates, updates and deletes.
	Sync Policy = "sync"
	// UpsertOnly deletes nothing, but lets a record of one type take the place of
	// one that it can't stand beside.
	UpsertOnly Policy = "upsert-only"
	// CreateOnly changes nothing that is there.
	CreateOnly Policy = "create-only"
)

// ParsePolicy reads the value of --policy; "" is UpsertOnly.
func ParsePolicy(text string) (Policy, error) {
	switch p := Policy(text); p {
	case "":
		return UpsertOnly, nil
	case Sync, UpsertOnly, CreateOnly:
		return p, nil
	}
	return "", fmt.Errorf("--policy=%s is no policy: use upsert-only, sync or create-only", text)
}

// allows reports whether a step may be made.
func (p Policy) allows(step *Step) bool {
	switch p {
	case Sync:
		return true
	case CreateOnly:
		return step.Change.Verb == Create && !step.Turn
	}
	return !step.Deletes()
}
