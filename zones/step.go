package zones

// Step has the next Commit give the zone a new serial, as if its records had
// changed: what the zone serves beside its own records did, the addresses of
// flattened names. A zone that the Table doesn't have is left out.
func (t *Table) Step(origin Name) {
	if b := t.zones[origin]; b != nil {
		b.moved = true
		t.pending[b] = struct{}{}
	}
}
