-- name: search_attribute_list
SELECT name, kind FROM search_attributes WHERE namespace = :namespace ORDER BY name;

-- name: search_attribute_insert
INSERT INTO search_attributes (namespace, name, kind)
VALUES (:namespace, :name, :kind) ON CONFLICT (namespace, name) DO NOTHING;
