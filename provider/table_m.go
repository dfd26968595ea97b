package provider

func tableM() []Entry {
	return []Entry{}
}
