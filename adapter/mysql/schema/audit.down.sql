DROP TABLE IF EXISTS authsvc_audit;
